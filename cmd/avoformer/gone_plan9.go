package main

// readerGone is whether err comes of writing to what nobody reads any more, which Plan 9 has no error for.
func readerGone(error) bool { return false }
