package server

import (
	"cmp"
	"time"

	"runnel/server/accounts"
	"runnel/server/monitor"
)

// describeGrant adds who vouches for a user. The JWT of a bearer is not shown: whoever sees it could be that user.
func (s *Server) describeGrant(out *monitor.Connection, id *accounts.Identity) {
	out.Proxy = id.Proxy
	g := id.Grant
	if g == nil {
		return
	}
	out.IssuerKey, out.Tags = g.Issuer, g.Tags
	if l := loginOf(id); l != nil {
		out.NameTag = l.claims.Label()
		if !l.bearer {
			out.JWT = l.user.Token()
		}
	}
}

// labelOf is the name of an account for people.
func (s *Server) labelOf(a *accounts.Account) string {
	if s.tenants != nil {
		if t := s.tenants.known(a.Name()); t != nil {
			return cmp.Or(t.claims.Load().Label(), a.Name())
		}
	}
	return a.Name()
}

// describeClaims adds what the JWT of an account says.
func (s *Server) describeClaims(out *monitor.AccountDetail) {
	if s.tenants == nil {
		return
	}
	t := s.tenants.known(out.Name)
	if t == nil {
		return
	}
	claims := t.claims.Load()
	out.NameTag = cmp.Or(claims.Label(), out.Name)
	out.UpdateTime = time.Unix(0, t.changed.Load()).UTC()
	out.Expired = claims.Check(time.Now()) != nil
	out.JWT, out.IssuerKey, out.Tags = claims.Token(), claims.Issuer(), claims.Tags()
	out.DecodedJWT = claims.Claims()
	for key, at := range claims.Claims().Revocations {
		if out.RevokedUsers == nil {
			out.RevokedUsers = make(map[string]time.Time)
		}
		out.RevokedUsers[key] = time.Unix(at, 0).UTC()
	}
}

// operatorsShown are the operators as /varz has them.
func (s *Server) operatorsShown(st *state) monitor.Operators {
	if st.trusting == nil {
		return monitor.Operators{}
	}
	out := monitor.Operators{JWTs: st.trusting.trust.Tokens()}
	for _, c := range st.trusting.trust.Claims() {
		out.Claims = append(out.Claims, c)
	}
	if s.tenants != nil {
		out.PinnedFails = uint64(s.tenants.pinnedFails.Load())
	}
	return out
}
