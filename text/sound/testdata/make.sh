#!/bin/sh
# Writes the sound files of this folder, tenths of a second of a tone of 440 Hz at half of the full scale, with Debian's
# sox, flac, lame, opus-tools, vorbis-tools and ffmpeg.
set -e
cd "$(dirname "$0")"
tone() { sox -n -r "$1" -c "$2" -b 16 "$3" synth 0.4 sine 440 gain -6.0206; }
tone 44100 2 t.wav
flac -s -f -8 -o tone.flac t.wav
ffmpeg -loglevel error -y -i tone.flac -c:a flac flac.ogg
lame --quiet -b 128 t.wav tone.mp3
oggenc -Q -q 1 -o vorbis.ogg t.wav
ffmpeg -loglevel error -y -i t.wav -c:a aac -b:a 48k tone.m4a
ffmpeg -loglevel error -y -i t.wav -c:a aac -b:a 48k tone.aac
ffmpeg -loglevel error -y -i t.wav -c:a libopus -b:a 32k tone.webm
opusenc --quiet --bitrate 32 --discard-comments t.wav tone.opus
tone 22050 1 t.wav
lame --quiet -b 32 -m m t.wav mpeg2.mp3
tone 16000 1 t.wav
opusenc --quiet --bitrate 14 --speech --discard-comments t.wav speech.opus
sox t.wav -b 24 t24.wav
flac -s -f -5 -o mono24.flac t24.wav
rm t.wav t24.wav
