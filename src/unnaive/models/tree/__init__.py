"""Trees: growing them, and asking them."""
