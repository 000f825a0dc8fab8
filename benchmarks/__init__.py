"""Speed and quality against the references, as code. Everything here runs on one core.

Thread counts are read when numpy and its friends are loaded, so they are set here, before anything else is imported. A
value that was given from outside stays; where numpy is loaded already (in a test) it is too late, and nothing is set.
"""

import os
import sys

if "numpy" not in sys.modules:
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(_name, "1")
