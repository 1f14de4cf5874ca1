package accounts_test

import (
	"strings"
	"testing"

	"runnel/server/accounts"
	"runnel/subjects"
)

// subjectAndQueue splits "subject queue".
func subjectAndQueue(s string) (subject, queue string) {
	subject, queue, _ = strings.Cut(s, " ")
	return subject, queue
}

// naive evaluates rules one by one, as the reference words them.
type naive struct{ allow, deny []string }

func (n naive) publish(subject string) bool {
	allowed := len(n.allow) == 0
	for _, a := range n.allow {
		allowed = allowed || subjects.Match(a, subject)
	}
	for _, d := range n.deny {
		allowed = allowed && !subjects.Match(d, subject)
	}
	return allowed
}

func (n naive) denied(subject, queue string, covers func(pattern, subject string) bool) bool {
	for _, d := range n.deny {
		pattern, group := subjectAndQueue(d)
		forMe := group == "" || queue != "" && subjects.Match(group, queue)
		if forMe && covers(pattern, subject) {
			return true
		}
	}
	return false
}

func (n naive) subscribe(subject, queue string) bool {
	covers := func(pattern, subject string) bool { return subjects.Subset(subject, pattern) }
	if queue == "_sys_" || n.denied(subject, queue, covers) {
		return false
	}
	plain, grouped, named := len(n.allow) == 0, false, false
	for _, a := range n.allow {
		pattern, group := subjectAndQueue(a)
		switch {
		case !covers(pattern, subject):
		case group == "":
			plain = true
		default:
			grouped = true
			named = named || queue != "" && subjects.Match(group, queue)
		}
	}
	if queue != "" && grouped {
		return named
	}
	return plain
}

// only returns the lines of text that are rules, with or without a queue name.
func only(text string, queues bool) (entries []string) {
	for entry := range strings.SplitSeq(text, "\n") {
		pattern, queue, found := strings.Cut(entry, " ")
		if !subjects.ValidPattern(pattern) || found && !(queues && subjects.ValidPattern(queue)) {
			continue
		}
		entries = append(entries, entry)
	}
	return entries
}

func FuzzPermissions(f *testing.F) {
	f.Add("a.*\nb.>", "a.b", "a.b", "q", "c")
	f.Add("foo.bar q1\nfoo.>", "foo.secret\nfoo.* *.prod", "foo.*", "x.prod", "secret")
	f.Add("", "*.b\n*.*.c", "a.b", "_sys_", "b")
	f.Add("> >", "a*\n>", "a*", "*", ">")
	f.Add("a\na.b.c\n*\n*.*.>", "a.>\n*.b.c", "a.b.*", "", "*")
	f.Fuzz(func(t *testing.T, allow, deny, subject, queue, token string) {
		checkPermissions(t, allow, deny, subject, queue, token)
	})
}

// checkPermissions compares all answers about a subject with those of naive. Rules are separated by line feeds.
func checkPermissions(t *testing.T, allow, deny, subject, queue, token string) {
	t.Helper()
	publish := naive{only(allow, false), only(deny, false)}
	subscribe := naive{only(allow, true), only(deny, true)}
	p := profile(t, accounts.Permissions{
		Publish:   rules{Allow: publish.allow, Deny: publish.deny},
		Subscribe: rules{Allow: subscribe.allow, Deny: subscribe.deny},
	})
	if got, want := p.CanPublish(subject), publish.publish(subject); got != want {
		t.Errorf("CanPublish(%q) = %v, want %v", subject, got, want)
	}
	if got, want := p.CanReceive(subject, queue), !subscribe.denied(subject, queue, subjects.Match); got != want {
		t.Errorf("CanReceive(%q, %q) = %v, want %v", subject, queue, got, want)
	}
	if subjects.ValidPattern(subject) {
		if got, want := p.CanSubscribe(subject, queue), subscribe.subscribe(subject, queue); got != want {
			t.Errorf("CanSubscribe(%q, %q) = %v, want %v", subject, queue, got, want)
		}
	}
	checkPrefix(t, p, subject+".", queue, token)
	if i := strings.LastIndexByte(subject, '.'); i >= 0 {
		checkPrefix(t, p, subject[:i+1], queue, subject[i+1:])
	}
	for i := range len(subject) {
		if subject[i] == '.' {
			checkBelow(t, p, subject[:i+1], queue, subject)
		}
	}
}

// checkPrefix checks that answers for a prefix are right for one more token.
func checkPrefix(t *testing.T, p *accounts.Profile, prefix, queue, token string) {
	t.Helper()
	if token == "" || strings.ContainsAny(token, ". \t\r\n\v\f\x00") {
		return
	}
	allowed, uniform := p.CanPublishPrefix(prefix)
	if got := p.CanPublish(prefix + token); uniform && got != allowed {
		t.Errorf("CanPublishPrefix(%q) is uniformly %v, but %q gives %v", prefix, allowed, token, got)
	}
	allowed, uniform = p.CanReceivePrefix(prefix, queue)
	if got := p.CanReceive(prefix+token, queue); uniform && got != allowed {
		t.Errorf("CanReceivePrefix(%q) is uniformly %v, but %q gives %v", prefix, allowed, token, got)
	}
}

// checkBelow checks that answers for a prefix are right for a subject that begins with it.
func checkBelow(t *testing.T, p *accounts.Profile, prefix, queue, subject string) {
	t.Helper()
	if !subjects.ValidPattern(subject) {
		return
	}
	allowed, uniform := p.CanPublishBelow(prefix)
	if got := p.CanPublish(subject); uniform && got != allowed {
		t.Errorf("CanPublishBelow(%q) is uniformly %v, but %q gives %v", prefix, allowed, subject, got)
	}
	allowed, uniform = p.CanReceiveBelow(prefix, queue)
	if got := p.CanReceive(subject, queue); uniform && got != allowed {
		t.Errorf("CanReceiveBelow(%q) is uniformly %v, but %q gives %v", prefix, allowed, subject, got)
	}
}
