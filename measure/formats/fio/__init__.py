"""fio's output in all its forms: reports, logs, histograms."""
