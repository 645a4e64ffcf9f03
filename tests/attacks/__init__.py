"""What an attacker or odd data would try: a table of cases a class, read by one test module each.

To add a case, add a line to a module in `tables/`. Tests that need Spark carry its marker; the others run without it.
"""
