package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"runnel/chaos/process"
)

// lead has a server lead all streams of the cluster, as far as it can. It returns how many there are; the error says which it does not lead,
// and why.
func lead(ctx context.Context, s *process.Server) (streams int, err error) {
	nc, err := nats.Connect("nats://"+s.Config().Client, nats.NoReconnect())
	if err != nil {
		return 0, err
	}
	defer nc.Close()
	var names struct {
		Streams []string `json:"streams"`
	}
	if err := ask(ctx, nc, "$JS.API.STREAM.NAMES", nil, &names); err != nil {
		return 0, err
	}
	request := map[string]any{"placement": map[string]string{"preferred": s.Name()}}
	for _, name := range names.Streams {
		err = errors.Join(err, ask(ctx, nc, "$JS.API.STREAM.LEADER.STEPDOWN."+name, request, nil))
	}
	return len(names.Streams), err
}

// ask sends a request to the API and reads its answer.
func ask(ctx context.Context, nc *nats.Conn, subject string, request, answer any) error {
	var data []byte
	if request != nil {
		var err error
		if data, err = json.Marshal(request); err != nil {
			return err
		}
	}
	m, err := nc.RequestWithContext(ctx, subject, data)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	var failed struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.Data, &failed); err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	if failed.Error != nil {
		return fmt.Errorf("%s: %s", subject, failed.Error.Description)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(m.Data, answer)
}
