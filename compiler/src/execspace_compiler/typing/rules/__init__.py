"""Typing rules, in a module for each subject; importing this package registers all of them."""

from . import assignments as assignments
from . import atomic_functions as atomic_functions
from . import attributes as attributes
from . import calls as calls
from . import captures as captures
from . import choices as choices
from . import control as control
from . import expressions as expressions
from . import helper_calls as helper_calls
from . import leaving as leaving
from . import local_arrays as local_arrays
from . import printf as printf
from . import team_reductions as team_reductions
from . import teams as teams
from . import tuples as tuples
from . import variables as variables
from . import views as views
