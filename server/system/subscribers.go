package system

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"runnel/subjects"
)

// countTimeout bounds how long other servers may take to count. Who has not answered by then is left out.
const countTimeout = 500 * time.Millisecond

// countRequest asks a server how many subscriptions of an account a subject reaches there.
type countRequest struct {
	Account string `json:"acc"`
	Subject string `json:"subject"`
	Queue   string `json:"queue,omitempty"`
}

// accountSubscribers counts the subscriptions of an account that a subject reaches on this server.
func accountSubscribers(_ context.Context, s *System, c *call) (any, error) {
	var r countRequest
	if err := json.Unmarshal(c.Payload, &r); err != nil {
		return nil, badRequest("the request is not valid: %v", err)
	}
	n, err := s.countHere(r)
	return counted(n), err
}

// debugSubscribers counts them on all servers, for the account of the requester, which may be another one that imports the
// service. The request is plain text: the subject, and perhaps a queue group after a blank.
func debugSubscribers(ctx context.Context, s *System, c *call) (any, error) {
	subject, queue, _ := strings.Cut(strings.TrimSpace(string(c.Payload)), " ")
	r := countRequest{Account: cmp.Or(c.Requester.Account, c.from), Subject: subject, Queue: strings.TrimSpace(queue)}
	n, err := s.countHere(r)
	if err == nil {
		n += s.countElsewhere(ctx, r)
	}
	return counted(n), err
}

// counted is a number in plain text.
func counted(n int) bare { return bare{strconv.AppendInt(nil, int64(n), 10)} }

func (s *System) countHere(r countRequest) (int, error) {
	if r.Account == "" || !subjects.ValidPattern(r.Subject) {
		return 0, badRequest("the request needs an account and a subject")
	}
	return s.cfg.Pages.Subscribers(r.Account, r.Subject, r.Queue), nil
}

// countElsewhere asks all servers of the cluster and adds up what the others say.
func (s *System) countElsewhere(ctx context.Context, r countRequest) int {
	id, others := s.cfg.Pages.Identity(), s.cfg.Pages.Remotes()
	if others == 0 || id.SystemAccount == "" {
		return 0
	}
	inbox := "$SYS._INBOX." + newIdentifier()
	answers := make(chan int, others+1)
	cancel, err := s.cfg.Bus.Subscribe(id.SystemAccount, inbox, func(q Request) {
		n, err := strconv.Atoi(string(q.Payload))
		if err != nil {
			n = 0 // that server has said what it minds
		}
		select {
		case answers <- n:
		default:
		}
	})
	if err != nil {
		s.cfg.Logger.Error("ask other servers about subscriptions", "error", err)
		return 0
	}
	defer cancel()
	s.cfg.Bus.Publish(id.SystemAccount, "$SYS.REQ.ACCOUNT.NSUBS", inbox, nil, s.encode(r))
	ctx, stop := context.WithTimeout(ctx, countTimeout)
	defer stop()
	sum := -s.cfg.Pages.Subscribers(r.Account, r.Subject, r.Queue) // this server answers as well
	for range others + 1 {
		select {
		case n := <-answers:
			sum += n
		case <-ctx.Done():
			return max(sum, 0)
		}
	}
	return max(sum, 0)
}
