package check_test

import (
	"testing"
	"time"

	"runnel/chaos/check"
	"runnel/chaos/history"
)

func TestRetention(t *testing.T) {
	retention := func(cfg check.RetentionConfig) func([]history.Operation) []check.Finding {
		cfg.Stream = "S"
		return func(ops []history.Operation) []check.Finding { return check.Retention(ops, cfg) }
	}
	abcd := `
		1 publish k=x v=a s=1
		1 publish k=y v=b s=2
		1 publish k=x v=c s=3
		1 publish k=y v=d s=4
		`
	run := func(name string, cfg check.RetentionConfig, tales []tale) {
		t.Run(name, func(t *testing.T) { checkTales(t, retention(cfg), tales) })
	}
	run("none", check.RetentionConfig{}, []tale{
		{"all there", abcd + `final *: x=a y=b x=c y=d`, ""},
		{"an unknown one", `
			1 publish k=x v=a unknown
			final *:`, ""},
		{"lost", abcd + `final n1: x=a _ x=c y=d`, "lost@n1"},
		{"purged", abcd + `
			2 purge
			final *: _ _ _ _`, ""},
		{"purged by unknown result, or not", abcd + `
			2 purge k=x unknown
			final *: _ y=b _ y=d`, ""},
		{"a purge of unknown result that came late", `
			2 purge unknown
			1 publish v=a s=1
			final *: _`, ""},
		{"published while it was purged", `
			1 publish v=a s=1 t=1-4
			2 purge t=2-3
			final *: _`, ""},
		{"published while it was purged, and kept", `
			1 publish v=a s=1 t=1-4
			2 purge t=2-3
			final *: a`, ""},
		{"purged up to a sequence", abcd + `
			2 purge s=3
			final *: _ _ x=c y=d`, ""},
		{"one erased", abcd + `
			2 erase s=2
			final *: x=a _ x=c y=d`, ""},
		{"purge that was refused", abcd + `
			2 purge failed
			final n1: _ _ _ _`, "lost@n1"},
		{"purge of others", abcd + `
			2 purge k=x
			final n1: _ _ _ y=d`, "lost@n1"},
		{"purge took too much", abcd + `
			2 purge s=3
			final n1: _ _ _ y=d`, "lost@n1"},
		{"purge took what came later", `
			2 purge
			1 publish v=a s=1
			final n1: _`, "lost@n1"},
		{"purged and there", abcd + `
			2 purge k=x
			final n1: x=a y=b _ y=d`, "kept@n1"},
		{"erased and there", abcd + `
			2 erase s=2
			final n1: x=a y=b x=c y=d`, "kept@n1"},
		{"erased at one node only", abcd + `
			2 erase s=2 unknown
			final n1: x=a y=b x=c y=d
			final n2: x=a _ x=c y=d`, "differs@n2"},
		{"refused and there", `
			1 publish v=a failed
			final n1: a`, "refused@n1"},
		{"never sent", `final n1: z`, "unexpected@n1"},
	})
	run("messages", check.RetentionConfig{MaxMessages: 2}, []tale{
		{"the last two", abcd + `final *: _ _ x=c y=d`, ""},
		{"an unknown one took the place", abcd + `
			1 publish k=x v=e unknown
			final *: _ _ _ y=d x=e`, ""},
		{"too few", abcd + `final n1: _ _ _ y=d`, "lost@n1"},
		{"too many", abcd + `final n1: _ y=b x=c y=d`, "kept@n1"},
		{"the wrong ones", abcd + `final n1: _ y=b _ y=d`, "lost@n1"},
	})
	run("per subject", check.RetentionConfig{MaxPerSubject: 1}, []tale{
		{"the last of each", abcd + `final *: _ _ x=c y=d`, ""},
		{"an unknown one took the place", abcd + `
			1 publish k=x v=e unknown
			final *: _ _ _ y=d x=e`, ""},
		{"too few", abcd + `final n1: _ _ _ y=d`, "lost@n1"},
		{"too many", abcd + `final n1: x=a _ x=c y=d`, "kept@n1"},
	})
	run("age", check.RetentionConfig{MaxAge: 10 * time.Second, AgeSlack: 2 * time.Second}, []tale{
		{"old ones gone, young ones there", `
			1 publish v=a s=1 t=0-1
			1 publish v=b s=2 t=15-16
			final n1@20: _ b`, ""},
		{"about the age, at one node", `
			1 publish v=a s=1 t=0-1
			final n1@11: a
			final n2@11: _`, ""},
		{"an unknown one of that age", `
			1 publish v=a unknown t=0-1
			final n1@11: a
			final n2@11: _`, ""},
		{"gone too early", `
			1 publish v=a s=1 t=0-1
			final n1@5: _`, "lost@n1"},
		{"kept too long", `
			1 publish v=a s=1 t=0-1
			final n1@20: a`, "kept@n1"},
		{"gone too early at one node", `
			1 publish v=a unknown t=0-1
			final n1@5: a
			final n2@5: _`, "differs@n2"},
	})
	run("interest", check.RetentionConfig{Consumers: []string{"C", "D"}}, []tale{
		{"acknowledged by both", `
			1 publish v=a s=1
			8 ack v=a s=1 c=C
			9 ack v=a s=1 c=D
			final *: _`, ""},
		{"acknowledged by one", `
			1 publish v=a s=1
			8 ack v=a s=1 c=C
			final *: a`, ""},
		{"acknowledged by one, and perhaps by the other", `
			1 publish v=a s=1
			8 ack v=a s=1 c=C
			9 ack v=a s=1 c=D unknown
			final *: a`, ""},
		{"gone too early", `
			1 publish v=a s=1
			8 ack v=a s=1 c=C
			final n1: _`, "lost@n1"},
		{"an ack that was refused", `
			1 publish v=a s=1
			8 ack v=a s=1 c=C
			9 ack v=a s=1 c=D failed
			final n1: _`, "lost@n1"},
		{"kept", `
			1 publish v=a s=1
			8 ack v=a s=1 c=C
			9 ack v=a s=1 c=D
			9 ack v=a s=1 c=D unknown
			final n1: a`, "kept@n1"},
	})
}

func TestMeta(t *testing.T) {
	// exists and listed are a node's listing.
	checkTales(t, check.Meta, []tale{
		{"created, changed, deleted and created again", `
			1 create-stream st=A v=a1
			1 update-stream st=A v=a2
			1 create-stream st=B v=b1
			1 delete-stream st=B
			1 create-stream st=C v=c1
			1 delete-stream st=C
			1 create-stream st=C v=c2
			9 exists st=A v=a2
			9 exists st=C v=c2
			9 exists st=other v=z
			9 listed`, ""},
		{"unknown ones either way", `
			1 create-stream st=A v=a1 unknown
			1 create-stream st=B v=b1 unknown
			1 create-stream st=C v=c1
			1 delete-stream st=C unknown
			1 create-stream st=D v=d1
			1 update-stream st=D v=d2 unknown
			9 exists st=A v=a1
			9 exists st=C v=c1
			9 exists st=D v=d2
			9 listed`, ""},
		{"a delete of unknown result that came late", `
			1 create-stream st=A v=a1
			1 delete-stream st=A unknown
			1 update-stream st=A v=a2
			9 listed`, ""},
		{"two at once", `
			1 create-stream st=A v=a1 t=1-5
			2 delete-stream st=A t=2-4
			9 exists st=A v=a1
			9 listed
			9 exists st=A v=a1 n=n2
			9 listed n=n2`, ""},
		{"refused", `
			1 create-stream st=A v=a1
			2 create-stream st=A v=a2 failed
			9 exists st=A v=a1
			9 listed`, ""},
		{"a consumer goes with its stream", `
			1 create-stream st=A v=a1
			1 create-consumer st=A c=C v=c1
			1 delete-stream st=A
			1 create-stream st=A v=a2
			9 exists st=A v=a2
			9 listed`, ""},
		{"new messages in a stream of an old name", `
			1 publish st=A v=m1 s=1
			1 publish st=A v=m2 unknown
			1 delete-stream st=A
			1 create-stream st=A v=a2
			1 publish st=A v=m3 s=2
			final n1/A: m2 m3
			9 exists st=A v=a2
			9 listed`, ""},

		{"a created one is gone", `
			1 create-stream st=A v=a1
			9 listed`, "lost@n1"},
		{"gone, since a refused delete was done", `
			1 create-stream st=A v=a1
			1 delete-stream st=A failed
			9 listed`, "lost@n1"},
		{"back after its deletion", `
			1 create-stream st=A v=a1
			1 delete-stream st=A
			9 exists st=A v=a1
			9 listed`, "resurrected@n1"},
		{"an old configuration", `
			1 create-stream st=A v=a1
			1 update-stream st=A v=a2
			9 exists st=A v=a1
			9 listed`, "outdated@n1"},
		{"a configuration that was refused", `
			1 create-stream st=A v=a1 failed
			1 create-stream st=A v=a2 unknown
			9 exists st=A v=a1
			9 listed`, "unexpected@n1"},
		{"nodes differ about an unknown one", `
			1 create-stream st=A v=a1 unknown
			9 exists st=A v=a1
			9 listed
			9 listed n=n2`, "differs@n2"},
		{"a consumer is gone", `
			1 create-stream st=A v=a1
			1 create-consumer st=A c=C v=c1
			9 exists st=A v=a1
			9 listed`, "lost@n1"},
		{"a consumer is back with its stream", `
			1 create-stream st=A v=a1
			1 create-consumer st=A c=C v=c1
			1 delete-stream st=A
			1 create-stream st=A v=a2
			9 exists st=A v=a2
			9 exists st=A c=C v=c1
			9 listed`, "resurrected@n1"},
		{"old messages in a new stream", `
			1 publish st=A v=m1 s=1
			1 delete-stream st=A
			1 create-stream st=A v=a2
			final n1/A: m1
			9 exists st=A v=a2
			9 listed`, "resurrected@n1"},
		{"a node that could not be listed", `
			1 create-stream st=A v=a1
			9 exists st=A v=a1
			9 listed
			9 listed n=n2 unknown`, "unchecked@n2"},
		{"no node was listed", `1 create-stream st=A v=a1`, "unchecked@"},
	})
}
