package meta

import "context"

// The services that servers call of one another.
const (
	serviceForm     = "meta.form"
	serviceJoin     = "meta.join"
	servicePropose  = "meta.propose"
	serviceReport   = "meta.report"
	servicePosition = "meta.position"
	serviceRescue   = "meta.rescue"
	serviceStepDown = "meta.stepdown"
)

// serve lets others call.
func (m *Meta) serve() {
	for service, handler := range map[string]func(context.Context, string, []byte) ([]byte, error){
		serviceForm: m.serveHello, serviceJoin: m.serveJoin, servicePropose: m.serveProposal, serviceReport: m.serveReport,
		servicePosition: m.servePosition, serviceRescue: m.serveRescue, serviceStepDown: m.serveStepDown,
	} {
		m.cfg.Calls.Handle(service, func(ctx context.Context, from string, payload []byte) ([]byte, error) {
			if m.ctx.Err() != nil {
				return nil, ErrClosed
			}
			return handler(ctx, from, payload)
		})
	}
}
