"""A simulated device with known parameters, served by nbdkit and measured by real fio."""
