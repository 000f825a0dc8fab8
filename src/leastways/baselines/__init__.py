"""Published methods to compare with, one file each, behind the same door as our own.

Nothing optional is imported here: dice-ml and torch load when a method that needs them is prepared.
"""

from leastways.baselines.dice import Dice

__all__ = ["Dice"]
