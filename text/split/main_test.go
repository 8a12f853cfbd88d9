package split_test

import (
	"os"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Fixtures("../examples/models")
	os.Exit(m.Run())
}
