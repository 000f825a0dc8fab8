"""Published methods to compare with, one file each, behind the same door as our own.

Nothing optional is imported here: dice-ml, torch and highspy load when a method that needs them is prepared.
"""

from leastways.baselines.actionable_recourse import ActionableRecourse
from leastways.baselines.dice import Dice
from leastways.baselines.face import Face

__all__ = ["ActionableRecourse", "Dice", "Face"]
