"""What is declared and stored, as one immutable value, and functions that give the next value."""
