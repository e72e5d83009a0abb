"""Tests of how the browser tools wait for a page, without a browser."""

import importlib.util
import time
import unittest
from pathlib import Path

DRIVE = Path(__file__).resolve().parents[2] / "worker/tool/src/browser/drive.py"
SPEC = importlib.util.spec_from_file_location("drive", DRIVE)
assert SPEC is not None and SPEC.loader is not None
drive = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(drive)


class WaitingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.browser = drive.Browser.__new__(drive.Browser)
        self.tab = drive.Tab("session", "frame")
        self.browser.tabs, self.browser.downloads = [self.tab], {}
        self.browser.last_event = time.monotonic()
        self.browser.deadline = time.monotonic() + 60

    def hear(self, method: str, **data: str) -> None:
        self.browser.hear(method, data, "session")

    def test_a_page_that_has_loaded_has_its_document(self) -> None:
        self.hear("Network.requestWillBeSent", frameId="frame", type="Document", requestId="1")
        self.hear("Network.requestWillBeSent", frameId="frame", type="Image", requestId="2")
        self.assertEqual(set(self.tab.requests), {"1", "2"})
        self.hear("Page.loadEventFired")
        self.assertEqual(set(self.tab.requests), {"2"})

    def test_a_request_that_took_too_long_holds_up_no_later_step(self) -> None:
        self.tab.requests["1"] = time.monotonic()
        self.browser.settle(seconds=0)
        self.assertEqual(self.tab.requests, {})


if __name__ == "__main__":
    unittest.main()
