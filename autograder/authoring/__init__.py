"""How exercises are declared, drawn and released."""
