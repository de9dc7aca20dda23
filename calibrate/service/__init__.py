"""Laws of service times from histograms, samples or published percentiles.

>>> from calibrate.service import fit_service, of_percentiles
>>> times = of_percentiles({0.5: 100e-6, 0.9: 160e-6, 0.95: 190e-6, 0.99: 280e-6, 0.999: 450e-6}, requests=1e5)
>>> fit_service(times).law.mean > 100e-6
True
"""

from calibrate.service.fitted import FamilyFit, ServiceFit
from calibrate.service.ladder import fit_service
from calibrate.service.observed_times import Times, of_histogram, of_percentiles, of_samples

__all__ = ["FamilyFit", "ServiceFit", "Times", "fit_service", "of_histogram", "of_percentiles", "of_samples"]
