"""Descriptions of queues and networks.

There is one description, :class:`Network`: stations by name, the customers that arrive or circulate, and their routes.
The textbook names are short ways to write one. All are frozen values: ``solve`` and ``simulate`` only read them.

>>> MMc(arrival_rate=2.7, service_rate=1.0, servers=3).kendall
'M/M/3'
>>> MMcN(64, 1e-6, 80e-6, 32) == Network({"delay": Delay(1e-6), "station": Station(Exponential(80e-6), 32)}, 64)
True
"""

from qsim.distributions import Exponential as Exponential
from qsim.models.customers import Arrivals as Arrivals
from qsim.models.network import Network as Network
from qsim.models.short import GG1 as GG1
from qsim.models.short import MD1 as MD1
from qsim.models.short import MG1 as MG1
from qsim.models.short import MM1 as MM1
from qsim.models.short import MM1K as MM1K
from qsim.models.short import Closed as Closed
from qsim.models.short import GGc as GGc
from qsim.models.short import MGc as MGc
from qsim.models.short import MMc as MMc
from qsim.models.short import MMcK as MMcK
from qsim.models.short import MMcN as MMcN
from qsim.models.short import Open as Open
from qsim.models.short import Tandem as Tandem
from qsim.models.station import Delay as Delay
from qsim.models.station import Station as Station
