"""``python -m unnaive.cli``."""

from unnaive.cli import main

if __name__ == "__main__":
    main()
