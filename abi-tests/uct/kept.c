/* Messages that a receiver keeps: kept TRANSPORT DEVICE [all]
 * With "all" every message has to come in a descriptor, and else where the transport likes it. */
#include "pair.h"

enum { MESSAGES = 300, HEADROOM = 40 };

static struct {
    unsigned char *data;
    size_t length;
    int is_desc;
} kept[MESSAGES];

static unsigned arrived, descs;

static ucs_status_t on_message(void *arg, void *data, size_t length, unsigned flags)
{
    HOLDS(arg == kept && arrived < MESSAGES);
    int is_desc = !!(flags & UCT_CB_PARAM_FLAG_DESC), keep = is_desc && arrived % 4 != 3;
    kept[arrived].length = length;
    kept[arrived].is_desc = keep;
    descs += is_desc;
    if (is_desc) memset((char *)data - HEADROOM, arrived, HEADROOM); /* the room is ours */
    if (keep) {
        kept[arrived].data = data;
    } else {
        kept[arrived].data = malloc(length + 1);
        memcpy(kept[arrived].data, data, length);
    }
    arrived++;
    return keep ? UCS_INPROGRESS : UCS_OK;
}

static size_t length_of(unsigned i) { return (i * 131) % (a.attr.cap.am.max_bcopy < 8000 ? a.attr.cap.am.max_bcopy : 8000); }

int main(int argc, char **argv)
{
    if (argc < 3) DIE("usage: kept TRANSPORT DEVICE [all]");
    headroom = HEADROOM;
    open_pair(argv[1], argv[2]);
    MUST(uct_iface_set_am_handler(peer->iface, ID, on_message, kept, 0));
    for (unsigned i = 0; i < MESSAGES; i++) {
        packed_len = length_of(i);
        packed_seed = i;
        HOLDS(POST("am_bcopy", uct_ep_am_bcopy(ep, ID, pack, &packed_len, 0)) == (long)packed_len);
    }
    WAIT_FOR("messages", arrived == MESSAGES, both());
    if (argc > 3) HOLDS(descs == MESSAGES);
    /* They are given back in another order, some of them when the interfaces are closed. */
    unsigned good = 0;
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = MESSAGES; i-- > 0;) {
            if ((round == 0) != (i % 3 != 0)) continue;
            size_t n = 0;
            while (n < kept[i].length && kept[i].data[n] == pattern(i, n)) n++;
            good += n == kept[i].length && n == length_of(i);
            if (kept[i].is_desc) uct_iface_release_desc(kept[i].data - HEADROOM);
            else free(kept[i].data);
        }
    }
    close_pair();
    printf("messages as they were sent: %u\n", good);
    return finish();
}
