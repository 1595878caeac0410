"""Typing rules, a module for what belongs together; importing this registers all of them."""

from . import atomic_functions as atomic_functions
from . import calls as calls
from . import functions as functions
from . import local_arrays as local_arrays
from . import printf as printf
from . import team_reductions as team_reductions
from . import teams as teams
from . import tuples as tuples
from . import views as views
