package api_test

import (
	"errors"
	"testing"

	"runnel/jetlog/config"
	"runnel/server/jetstream/api"
)

func TestOfRestore(t *testing.T) {
	other := errors.New("the disk is gone")
	for _, tt := range []struct {
		err  error
		want config.Code
	}{
		{api.NewError(api.StreamNotFound), api.StreamNotFound},
		{&config.Error{Code: config.StreamInvalidConfig}, config.StreamInvalidConfig},
		{other, api.RestoreFailed},
	} {
		if got := api.OfRestore(tt.err); got.ErrCode != int(tt.want) {
			t.Errorf("%v: got %d, want %d", tt.err, got.ErrCode, tt.want)
		}
	}
	var known *api.Error
	if err := api.OfRestoredName(api.NewError(api.StreamNameExists)); !errors.As(err, &known) || known.ErrCode != int(api.RestoreNameExists) {
		t.Errorf("a name in use: got %v", err)
	}
	if err := api.OfRestoredName(other); err != other {
		t.Errorf("got %v", err)
	}
}
