//go:build !purego

#include "textflag.h"

// func pause()
// YIELD does nothing on most processors; waiting for the pipeline takes time.
TEXT ·pause(SB), NOSPLIT, $0-0
	ISB	$15
	RET
