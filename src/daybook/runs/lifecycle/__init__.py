"""From files to projects that run: definitions are applied, and projects activated, registered and broken."""
