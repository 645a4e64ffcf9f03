"""The demo and the starter workspace: definitions, generated data, and where they are written."""
