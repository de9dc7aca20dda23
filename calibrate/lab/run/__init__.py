"""Run: everybody seals a guess of the knee, the device is measured live, and the guesses are revealed."""
