# The public names and where each is defined; a name's module is imported when the name is first used.
from .auditing.all_checks import audit as audit
from .datasets import dataset_names as dataset_names
from .datasets import load_dataset as load_dataset
from .errors import DataError as DataError
from .errors import MeasureError as MeasureError
from .findings import Finding as Finding
from .loading import load as load
from .loads import ArrivalRate as ArrivalRate
from .loads import Clients as Clients
from .loads import Depth as Depth
from .loads import PeakShare as PeakShare
from .origin import Provenance as Provenance
from .sweep import Sweep as Sweep
from .sweep import histograms as histograms
