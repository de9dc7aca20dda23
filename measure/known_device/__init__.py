"""A device whose truth is known, served by nbdkit and measured by real fio."""
