"""Parts of devices by formula: servers that wake up, stripes, completions that go together, write caches."""
