"""Tests of audio and video: loudness, joins, subtitles, and the check with its sheet."""

import json
import subprocess
from typing import Any

from support import ENVIRONMENT, SKILLS, ScriptTest, need

CUES = """1
00:00:00,500 --> 00:00:02,500
Hello <i>there</i>, Zoë Łukasiewicz

2
00:00:02,000 --> 00:00:03,000
This line overlaps and is much longer than forty-two letters in one

3
00:00:03,500 --> 00:00:09,000
日本語の字幕
"""


class MediaTest(ScriptTest):
    skill = "media"

    def setUp(self) -> None:
        super().setUp()
        need("ffmpeg", "ffprobe", "fc-list")

    def ffmpeg(self, *arguments: object) -> None:
        command = ["ffmpeg", "-y", "-v", "error", "-nostdin", *map(str, arguments)]
        subprocess.run(command, check=True, cwd=self.folder, env=ENVIRONMENT, timeout=120)

    def tone(self, name: str, volume: str = "0.05", seconds: float = 4) -> None:
        source = f"aevalsrc='0.9*sin(440*2*PI*t)*({volume})':c=stereo:s=44100:d={seconds}"
        self.ffmpeg("-f", "lavfi", "-i", source, name)

    def film(self, name: str, size: str, seconds: float, *options: str) -> None:
        sound = ["-f", "lavfi", "-i", f"sine=300:d={seconds}:r=22050"] if "-an" not in options else []
        picture = ["-f", "lavfi", "-i", f"testsrc2=s={size}:d={seconds}:r=25"]
        self.ffmpeg(*picture, *sound, "-pix_fmt", "yuv420p", *options, name)

    def streams(self, name: str) -> list[dict[str, Any]]:
        command = ["ffprobe", "-v", "error", "-show_streams", "-of", "json", name]
        done = subprocess.run(command, capture_output=True, check=True, cwd=self.folder, env=ENVIRONMENT)
        streams: list[dict[str, Any]] = json.loads(done.stdout)["streams"]
        return streams

    def frame(self, name: str, at: float, filters: str) -> bytes:
        command = f"ffmpeg -v error -ss {at} -i {name} -vf {filters} -frames:v 1 -f rawvideo -".split()
        return subprocess.run(command, capture_output=True, check=True, cwd=self.folder, env=ENVIRONMENT).stdout

    def pixel(self, name: str, at: float, x: float, y: float) -> tuple[int, int, int]:
        """Returns a colour in a frame. The position is a fraction of the width and of the height."""
        crop = f"crop=2:2:iw*{x}:ih*{y},format=rgb24"
        shown = self.frame(name, at, crop)
        return shown[0], shown[1], shown[2]

    def test_the_skills_ffmpeg_and_media_have_the_same_scripts(self) -> None:
        folders = [SKILLS / skill / "scripts" for skill in ("ffmpeg", "media")]
        first, second = [{one.name: one.read_bytes() for one in folder.glob("*.py")} for folder in folders]
        self.assertGreater(len(first), 4)
        self.assertEqual(first, second, "copy the file that you changed to the other skill")

    def test_quiet_and_loud_sound_reaches_the_target_in_each_format(self) -> None:
        self.tone("quiet.wav")
        # Clicks far above the rest of the sound: a gain alone would exceed the peak.
        self.tone("clicks.wav", "if(lt(mod(t,0.5),0.01),0.9,0.1)")
        for source, out, target in (
            ("quiet.wav", "a.mp3", -16),
            ("quiet.wav", "a.opus", -23),
            ("clicks.wav", "a.wav", -14),
            ("clicks.wav", "a.m4a", -16),
        ):
            self.ok("loudness.py", source, out, "--target", target)
            # Measured with another filter than the one that the script uses.
            command = ["ffmpeg", "-nostdin", "-i", out, "-af", "loudnorm=print_format=json", "-f", "null", "-"]
            done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=self.folder, env=ENVIRONMENT)
            found = json.loads(done.stderr[done.stderr.rindex("{") : done.stderr.rindex("}") + 1])
            self.assertAlmostEqual(float(found["input_i"]), target, delta=0.6, msg=out)
            self.assertLess(float(found["input_tp"]), -0.9, out)

    def test_the_picture_is_copied_when_its_sound_changes(self) -> None:
        self.film("film.mp4", "320x180", 3)
        self.ok("loudness.py", "film.mp4", "loud.mp4", "--target", -20)
        before, after = self.streams("film.mp4"), self.streams("loud.mp4")
        self.assertEqual([one["codec_name"] for one in after], ["h264", "aac"])
        self.assertEqual(before[0]["nb_frames"], after[0]["nb_frames"])
        self.assertEqual(after[1]["sample_rate"], "48000")

    def test_what_cannot_be_made_loud_is_refused(self) -> None:
        self.tone("silent.wav", "0")
        self.film("mute.mp4", "320x180", 1, "-an")
        self.tone("tone.wav")
        (self.folder / "text.wav").write_text("no sound")
        for source, part in (
            ("silent.wav", "it is silent"),
            ("mute.mp4", "it has no sound"),
            ("text.wav", "not a readable audio or video file"),
            ("missing.wav", "there is no such file"),
        ):
            self.assertIn(part, self.fails("loudness.py", source, "x.wav"))
        self.assertIn("is an input", self.fails("loudness.py", "tone.wav", "tone.wav"))
        self.assertIn("must end in one of", self.fails("loudness.py", "tone.wav", "x.doc"))
        self.assertIn("between -40 and -5", self.fails("loudness.py", "tone.wav", "x.wav", "--target", 3))

    def test_clips_of_any_form_become_one_film(self) -> None:
        self.film("wide.mp4", "320x180", 2)
        self.film("upright.webm", "120x240", 1.5, "-an", "-c:v", "libvpx")
        self.film("old one's.avi", "161x121", 1.2, "-c:v", "mpeg4", "-c:a", "mp3", "-r", "15")
        self.ffmpeg("-f", "lavfi", "-i", "color=red:s=200x200", "-frames:v", "1", "still.png")
        clips = ("wide.mp4", "upright.webm", "old one's.avi", "still.png")
        shown = self.ok("join.py", "all.mp4", *clips, "--still", 2)
        self.assertIn("4 clips", shown)
        picture, sound = self.streams("all.mp4")
        self.assertEqual((picture["width"], picture["height"], picture["r_frame_rate"]), (320, 180, "25/1"))
        self.assertEqual((sound["sample_rate"], sound["channels"]), ("48000", 2))
        self.assertAlmostEqual(float(picture["duration"]), 6.7, delta=0.3)
        # Bars beside the upright clip. The still picture is at the end, in the middle.
        self.assertLess(max(self.pixel("all.mp4", 2.7, 0.1, 0.5)), 20)
        red = self.pixel("all.mp4", 6, 0.5, 0.5)
        self.assertGreater(red[0], 200)
        self.assertLess(red[1], 40)
        self.ok("join.py", "blur.mp4", *clips, "--still", 2, "--fade", 0.4, "--fit", "blur", "--size", "240x240")
        picture = self.streams("blur.mp4")[0]
        self.assertEqual((picture["width"], picture["height"]), (240, 240))
        self.assertAlmostEqual(float(picture["duration"]), 5.5, delta=0.3)
        self.assertGreater(max(self.pixel("blur.mp4", 0.5, 0.05, 0.05)), 20)
        self.ok("join.py", "up.mp4", "wide.mp4", "--size", "90x160", "--fit", "crop")
        self.assertEqual([self.streams("up.mp4")[0][one] for one in ("width", "height")], [90, 160])

    def test_clips_that_are_alike_are_copied(self) -> None:
        self.film("it's a.mp4", "320x180", 2)
        self.film("b.mp4", "320x180", 1)
        self.assertIn("copied without loss", self.ok("join.py", "both.mp4", "it's a.mp4", "b.mp4"))
        self.tone("a.wav", seconds=1)
        self.tone("b.mp3", seconds=2)
        self.assertIn("2 clips, 3.0", self.ok("join.py", "both.mp3", "a.wav", "b.mp3"))
        for arguments, part in (
            (("x.mp4", "b.mp4", "a.wav"), "it has no picture"),
            (("x.mp4", "b.mp4", "it's a.mp4", "--fade", 2), "too short for fades"),
            (("x.mp3", "b.mp4", "it's a.mp4"), "need a name that ends in one of"),
            (("b.mp4", "b.mp4", "it's a.mp4"), "is an input"),
            (("x.mp4", "b.mp4"), "at least two clips"),
        ):
            self.assertIn(part, self.fails("join.py", *arguments))

    def test_subtitles_are_checked_and_mended(self) -> None:
        self.film("film.mp4", "320x180", 6)
        (self.folder / "s.srt").write_text(CUES, encoding="utf-8")
        done = self.run_script("subtitle.py", "check", "s.srt", "--film", "film.mp4")
        self.assertEqual(done.returncode, 1)
        for part in (
            "it overlaps cue 1 by 0.50 s",
            "it ends after the film",
            "characters a second",
            "1 lines of up to 67 letters",
        ):
            self.assertIn(part, done.stdout)
        shown = self.ok("subtitle.py", "check", "s.srt", "--film", "film.mp4", "--fix", "good.vtt")
        self.assertIn("0 errors", shown)
        good = (self.folder / "good.vtt").read_text(encoding="utf-8")
        self.assertIn("00:00:00.500 --> 00:00:01.960\nHello <i>there</i>, Zoë Łukasiewicz\n", good)
        self.assertIn("This line overlaps and is much\nlonger than forty-two letters in one\n", good)
        self.assertIn("--> 00:00:06.0", good)
        for text, part in (
            ("no cues", "where the times of a cue should be"),
            ("1\n00:01 -> 00:02\nx", "where the times"),
            ("1\n0 --> 1\nx", "is not written as"),
            ("", "it has no cues"),
        ):
            (self.folder / "bad.srt").write_text(text)
            self.assertIn(part, self.fails("subtitle.py", "check", "bad.srt"))
        (self.folder / "bad.srt").write_bytes("1\n00:00:01,000 --> 00:00:02,000\nGrün".encode("latin-1"))
        self.assertIn("it is not UTF-8", self.fails("subtitle.py", "check", "bad.srt"))
        self.assertIn("correct its errors", self.run_script("subtitle.py", "burn", "film.mp4", "s.srt", "x.mp4").stderr)
        self.assertFalse((self.folder / "x.mp4").exists())

    def test_subtitles_become_a_track_or_are_drawn(self) -> None:
        # White letters on a dark background, so that their brightness can be measured.
        picture = ["-f", "lavfi", "-i", "color=0x202020:s=640x360:d=4:r=25", "-f", "lavfi", "-i", "sine=300:d=4"]
        self.ffmpeg(*picture, "-pix_fmt", "yuv420p", "film.mp4")
        (self.folder / "s.srt").write_text("1\n00:00:01,000 --> 00:00:03,000\nHHHHHHHH 日本\n", encoding="utf-8")
        for out, codec in (("soft.mp4", "mov_text"), ("soft.mkv", "subrip")):
            self.assertIn(
                "1 cues as a track in deu",
                self.ok("subtitle.py", "soft", "film.mp4", "s.srt", out, "--language", "deu"),
            )
            track = self.streams(out)[2]
            self.assertEqual((track["codec_name"], track["tags"]["language"]), (codec, "deu"))
        self.ok("subtitle.py", "burn", "film.mp4", "s.srt", "drawn.mp4")
        self.assertEqual(len(self.streams("drawn.mp4")), 2)

        def brightest(at: float) -> int:
            return max(self.frame("drawn.mp4", at, "crop=iw*0.6:ih*0.14:iw*0.2:ih*0.82,format=gray"))

        self.assertLess(brightest(0.5), 60)
        self.assertGreater(brightest(2), 200)
        self.assertLess(brightest(3.5), 60)
        (self.folder / "e.srt").write_text("1\n00:00:01,000 --> 00:00:03,000\nYes 🙂\n", encoding="utf-8")
        done = self.run_script("subtitle.py", "burn", "film.mp4", "e.srt", "x.mp4")
        self.assertIn("no installed font can draw U+1F642", done.stdout)
        self.assertIn(
            "not a language of three letters",
            self.fails("subtitle.py", "soft", "film.mp4", "s.srt", "x.mp4", "--language", "de"),
        )

    def test_the_check_finds_black_silent_cut_and_damaged_files(self) -> None:
        self.film("good.mp4", "320x180", 4, "-movflags", "+faststart")
        self.assertIn(
            "0 errors, 0 warnings",
            self.ok("check_media.py", "good.mp4", "--seconds", 4, "--size", "320x180", "--sheet", "sheet.png"),
        )
        self.assertEqual(self.streams("sheet.png")[0]["width"], 4 * 360 + 5 * 6)
        self.ffmpeg(
            *"-f lavfi -i color=black:s=320x180:d=3 -f lavfi -i anullsrc -t 3 -pix_fmt yuv444p black.mp4".split()
        )
        whole = (self.folder / "good.mp4").read_bytes()
        (self.folder / "cut.mp4").write_bytes(whole[: len(whole) // 2])
        broken = bytearray(whole)
        broken[len(whole) // 2 : len(whole) // 2 + 3000] = b"x" * 3000
        (self.folder / "broken.mp4").write_bytes(broken)
        for name, parts in (
            (
                "black.mp4",
                ("the picture is black throughout", "the sound is silent throughout", "its pixel format is yuv444p"),
            ),
            ("cut.mp4", ("it is cut off: only",)),
            ("broken.mp4", ("it is damaged",)),
        ):
            done = self.run_script("check_media.py", name)
            self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
            for part in parts:
                self.assertIn(part, done.stdout)
        done = self.run_script("check_media.py", "good.mp4", "--seconds", 9, "--size", "640x480", "--loudness", -5)
        self.assertIn("instead of 9", done.stdout)
        self.assertIn("does not have the size 640x480", done.stdout)
        self.assertIn("instead of -5", done.stdout)
        (self.folder / "text.mp4").write_text("no film")
        self.assertIn("not a readable", self.fails("check_media.py", "text.mp4"))
