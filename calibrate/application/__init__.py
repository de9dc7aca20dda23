"""An application on calibrated devices: users, processors and drives as one closed network, with bands."""
