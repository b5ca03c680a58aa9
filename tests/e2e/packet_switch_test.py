"""The faults of tests/e2e/packet_switch.py, each by itself."""

import random
import unittest

from tests.e2e import packet_switch


class Paths(unittest.TestCase):
    def setUp(self):
        self.paths = packet_switch.Paths(random.Random(1))

    def obey(self, command):
        packet_switch.obey(self.paths, command)

    def times(self, source="p1", target="p2", size=1250):
        return self.paths.times(source, target, size, now=100.0)

    def test_without_faults_a_frame_leaves_at_once_and_once(self):
        self.assertEqual(self.times(), [100.0])

    def test_a_cut_has_one_direction_and_ends(self):
        self.obey("cut p1 p2\n")
        self.assertEqual(self.times(), [])
        self.assertEqual(self.times("p2", "p1"), [100.0])
        self.assertEqual(self.times("p1", "p3"), [100.0])
        self.obey("heal\n")
        self.assertEqual(self.times(), [100.0])

    def test_delay_and_jitter(self):
        self.obey("link delay=0.1 jitter=0.05\n")
        found = [self.times()[0] - 100 for _ in range(200)]
        self.assertTrue(all(0.1 <= each <= 0.15 for each in found))
        self.assertNotEqual(found, sorted(found), "frames overtake each other")

    def test_loss_and_repeat(self):
        self.obey("link loss=0.25 repeat=0.5\n")
        counts = [len(self.times()) for _ in range(4000)]
        self.assertAlmostEqual(counts.count(0) / 4000, 0.25, delta=0.05)
        self.assertAlmostEqual(counts.count(2) / 4000, 0.375, delta=0.05)

    def test_a_rate_spaces_the_frames_of_a_port_and_loses_what_would_wait_too_long(self):
        self.obey("link rate=100000\n")  # 0.1 s for each frame.
        found = [self.times() for _ in range(8)]
        self.assertEqual([round(each[0] - 100, 3) for each in found if each], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        self.assertEqual(found[6:], [[], []])
        self.assertAlmostEqual(self.times(target="p3")[0], 100.1)

    def test_a_link_without_values_has_no_faults(self):
        self.obey("link delay=0.1 loss=1\n")
        self.assertEqual(self.times(), [])
        self.obey("link\n")
        self.assertEqual(self.times(), [100.0])

    def test_an_unknown_property_is_refused(self):
        with self.assertRaises(TypeError):
            self.obey("link lost=1\n")


if __name__ == "__main__":
    unittest.main()
