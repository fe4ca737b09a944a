"""Everything of picloud that runs is an actor here: the runtime they live in, and the actors of one node."""
