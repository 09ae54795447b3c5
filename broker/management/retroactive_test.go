package management_test

import "testing"

func TestRetroactiveResources(t *testing.T) {
	w := newWorld(t, false)
	if err := w.Settings.Set("kept", `{"retroactiveMessageCount":3}`); err != nil {
		t.Fatal(err)
	}
	if _, err := w.CreateAddress("kept", 0, false); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"address.kept": false,
		"address.$.artemis.internal.kept.address.retro":       true,
		"queue.$.artemis.internal.kept.queue.multicast.retro": true,
		"queue.$.artemis.internal.kept.queue.anycast.retro":   true,
		"divert.$.artemis.internal.kept.divert.retro":         true,
		"queue.DLQ": false,
	} {
		r, err := w.g.Resource(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := r.Get(someone, "RetroactiveResource"); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
}
