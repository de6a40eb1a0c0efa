"""A local web application to make a medley by hand and ear, on the same functions as `djnet medley`."""
