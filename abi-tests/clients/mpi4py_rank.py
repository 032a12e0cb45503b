"""One rank of mpi4py's own tests, one module, every test's verdict written as it falls.

usage: mpi4py_rank.py TEST-FOLDER OUT-PREFIX MODULE [PATTERN]

A module may crash or hang half way; what passed until then is still known afterwards."""
import os
import sys
import unittest

folder, prefix, module, *patterns = sys.argv[1:]
sys.dont_write_bytecode = True
sys.path.insert(0, folder)
import main as suite  # noqa: E402  (mpi4py's test/main.py)

rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
verdicts = open(f"{prefix}.{rank}", "w", buffering=1)


class Result(unittest.TextTestResult):
    def say(self, verdict, test):
        verdicts.write(f"{verdict} {test.id()}\n")

    def startTest(self, test):
        super().startTest(test)
        self.say("start", test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say("pass", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.say("error", test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say("fail", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say("skip", test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.say("fail", test)


argv = ["main.py", "--no-builddir", "-i", rf"^{module}\.py$"]
for pattern in patterns:
    argv += ["-k", pattern]
suite.main(module=None, argv=argv, testRunner=unittest.TextTestRunner(resultclass=Result))
