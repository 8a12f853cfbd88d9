package text_test

import (
	"os"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Fixtures("testdata")
	os.Exit(m.Run())
}
