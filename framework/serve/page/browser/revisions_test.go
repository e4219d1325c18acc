package browser_test

import "testing"

// TestRevisionsOfForeignServer: the page shows which revisions a server has spoken and refused.
func TestRevisionsOfForeignServer(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t)
	b.open(serve(t, everything(t)))
	b.sees(".revs", "speaking now")
	b.sees(".revs li:first-child", "not tried yet")
	b.sees(".revs li:last-child", "not spoken")
	if options := b.eval("[...document.querySelectorAll('.bar option')].map(o => o.text).join()"); options != "2025-11-25,2025-06-18,2025-03-26,2024-11-05" {
		t.Errorf("the bar offers %s", options)
	}
	b.judge(source, "a foreign server")
	b.picturesOf("revisions")
	b.click(".revs button", "2024-11-05")
	b.sees(".revs li:first-child", "speaking now")
	b.sees(".revs", "tasks, icons") // 2025-11-25, which it spoke before
}
