"""Prints how many tests of a JUnit report passed and how many did not. A skipped test did not pass."""

import sys
import xml.etree.ElementTree as ElementTree

suites = ElementTree.parse(sys.argv[1]).getroot().iter("testsuite")
tests = broken = 0
for suite in suites:
    tests += int(suite.get("tests", 0))
    broken += sum(int(suite.get(kind, 0)) for kind in ("failures", "errors", "skipped"))
print(tests - broken, broken)
