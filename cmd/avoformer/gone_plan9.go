package main

// readerGone reports whether err is the error of writing to a pipe without a reader. Plan 9 has no
// such error.
func readerGone(error) bool { return false }
