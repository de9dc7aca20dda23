"""Commands of the class: the demo, the lab, the course."""
