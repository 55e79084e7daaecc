"""The gateway of a domain: its folder, what it says to others through brokers, and what its administrator wants."""
