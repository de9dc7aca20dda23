"""The lab page: a local web application that shows the theory, a live measurement, and published ones to a class.

``server.serve`` starts it; ``app.build`` makes the Dash application. Its parts are a package each: ``explore`` (a queue
to play with), ``run`` (guess, measure, reveal) and ``compare`` (datasets and kept sweeps side by side). Needs the extra
``lab``.
"""
