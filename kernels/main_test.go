package kernels

import (
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m, Supported()) }

func TestForcedTier(t *testing.T) { testenv.CheckForced(t, Active()) }
