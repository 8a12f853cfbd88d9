package main

// readerGone reports whether err comes from writing to a pipe without a reader. Plan 9 has no such
// error.
func readerGone(error) bool { return false }
