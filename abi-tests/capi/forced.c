/* Endpoints closed by force with a hundred rendezvous and more in flight, at different moments, by one side or
 * both: on each side every request ends exactly once, and nothing is written into a buffer after its request
 * has ended. Also when the lane is full at that moment, so that the other side can only be told later. Each case
 * in its own process. Run on our libraries only.
 *
 *   forced [ROUNDS]     each case so many times, at other moments (6)
 *
 * Prints a line per case; exits with 1 when a case is wrong. */
#define _GNU_SOURCE
#include "am.h"
#include "rma.h"
#include <signal.h>
#include <sys/wait.h>

enum { MANY = 100, LEN = 70000, ID = 4 };
enum closer { SENDER, RECEIVER, BOTH, CLOSERS };
static const char *const closers[] = {"the sender", "the receiver", "both"};

struct end {
    struct side *side;
    int posted, ended, in_error, handled;
};
static struct end a = {&A}, b = {&B};

struct message {
    unsigned char bytes[LEN];
    int ended;
};
static struct message sent[2 * MANY], got[2 * MANY];

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t s)
{
    struct end *e = arg;
    HOLDS(s < 0);
    e->handled++;
}
static void open_end(struct end *e, struct end *other)
{
    ucp_ep_params_t p = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
                         .address = other->side->addr, .err_mode = UCP_ERR_HANDLING_MODE_PEER};
    p.err_handler.cb = on_error;
    p.err_handler.arg = e;
    MUST(ucp_ep_create(e->side->w, &p, &e->side->ep));
}

static struct end *of_send(struct message *m) { return m < sent + MANY ? &a : &b; }
static struct end *of_receive(struct message *m) { return m < got + MANY ? &b : &a; }
static void ended(struct end *e, struct message *m, ucs_status_t s)
{
    HOLDS(!m->ended);
    m->ended = 1;
    e->ended++;
    e->in_error += s != UCS_OK;
}
static void on_sent(void *r, ucs_status_t s, void *user)
{
    ended(of_send(user), user, s);
    ucp_request_free(r);
}
static ucs_status_ptr_t open_receive[2 * MANY];
static void on_got(void *r, ucs_status_t s, const ucp_tag_recv_info_t *info, void *user)
{
    struct message *m = user;
    open_receive[m - got] = NULL;
    ended(of_receive(user), user, s);
    memset(m->bytes, 0xee, LEN); /* from now on nobody may write here */
    ucp_request_free(r);
}

static void post_send(int i)
{
    struct message *m = &sent[i];
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA, .user_data = m};
    p.cb.send = on_sent;
    struct end *e = of_send(m);
    size_t n = i % 5 == 4 ? 3000 + i : LEN;
    ucs_status_ptr_t r = i % 7 ? ucp_tag_send_nbx(e->side->ep, m->bytes, n, 1, &p) : ucp_tag_send_sync_nbx(e->side->ep, m->bytes, n, 1, &p);
    if (UCS_PTR_IS_PTR(r)) e->posted++;
}
static void post_receive(int i)
{
    struct message *m = &got[i];
    ucp_request_param_t p = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL, .user_data = m};
    p.cb.recv = on_got;
    struct end *e = of_receive(m);
    m->ended = 0;
    e->posted++;
    ucs_status_ptr_t r = ucp_tag_recv_nbx(e->side->w, m->bytes, LEN, 1, ALL, &p);
    HOLDS(UCS_PTR_IS_PTR(r));
    if (!m->ended) open_receive[i] = r;
}

static const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
static void close_by_force(struct end *e)
{
    ucs_status_ptr_t r = ucp_ep_close_nbx(e->side->ep, &force);
    HOLDS(!UCS_PTR_IS_ERR(r));
    if (UCS_PTR_IS_PTR(r)) MUST(finished(r));
    e->side->ep = NULL;
}

static void all_ended(const char *when)
{
    double end = now() + 20;
    while (a.ended < a.posted || b.ended < b.posted) {
        progress();
        /* What was never matched waits for other senders: that is not the endpoint's. */
        if (now() > end - 19.8)
            for (int i = 0; i < 2 * MANY; i++)
                if (open_receive[i]) ucp_request_cancel(of_receive(&got[i])->side->w, open_receive[i]);
        if (now() > end) DIE("%s: %d of %d requests ended on one side, %d of %d on the other", when, a.ended, a.posted, b.ended, b.posted);
    }
    for (int i = 0; i < 3000; i++) progress();
    HOLDS(a.ended == a.posted && b.ended == b.posted);
    for (int i = 0; i < 2 * MANY; i++)
        if (got[i].ended && !untouched(got[i].bytes, LEN, 0xee)) DIE("%s: receive %d was written to after its end", when, i);
}

static void end_of(struct end *e)
{
    if (e->side->ep) close_by_force(e);
    ucp_worker_release_address(e->side->w, e->side->addr);
}
static void both_end(void)
{
    end_of(&a);
    end_of(&b);
    for (int i = 0; i < 100; i++) progress();
    ucp_worker_destroy(A.w);
    ucp_cleanup(A.ctx);
    ucp_worker_destroy(B.w);
    ucp_cleanup(B.ctx);
}

static void open_both(void)
{
    open_side(&A);
    open_side(&B);
    open_end(&a, &b);
    open_end(&b, &a);
    if (A.ep) still_works();
}

/* Rendezvous both ways, the receives posted before, after, or never. */
static void rendezvous(enum closer who, int round)
{
    open_both();
    for (int i = 0; i < 2 * MANY; i++)
        if (i % 3 == 0) post_receive(i);
    for (int i = 0; i < 2 * MANY; i++) post_send(i);
    for (int i = 0; i < round * round * 3; i++) i % 3 ? ucp_worker_progress(B.w) : ucp_worker_progress(A.w);
    for (int i = 0; i < 2 * MANY; i++)
        if (i % 3 == 1) post_receive(i);
    for (int i = 0; i < round * round * 3; i++) progress();
    if (who != RECEIVER) close_by_force(&a);
    if (round % 2) progress();
    if (who != SENDER) close_by_force(&b);
    all_ended(closers[who]);
    /* With both, the second to close may hear of the first before. */
    if (a.handled > (who == RECEIVER) || b.handled > (who != RECEIVER)) DIE("handlers: %d and %d", a.handled, b.handled);
    both_end();
}

/* A's lane to B is full of messages that B doesn't read, and B awaits something of A, when A closes. */
static void full_lane(enum closer who, int round)
{
    open_both();
    for (int i = 0; i < MANY; i++) post_send(MANY + i); /* B's: their announcements arrive */
    let_it_arrive();
    for (int i = 0; i < MANY; i++) post_receive(MANY + i); /* A asks for the data, or reads it */
    static unsigned char small[5000];
    int n = 0, at_once = 0;
    for (; n < 20000; n++) {
        ucs_status_ptr_t r = ucp_tag_send_nbx(A.ep, small, round % 2 ? 100 : sizeof small, 3, &plain);
        HOLDS(!UCS_PTR_IS_ERR(r));
        if (UCS_PTR_IS_PTR(r)) ucp_request_free(r); /* nobody asks for it again */
        else at_once++;
        if (n - at_once > 50) break;
    }
    close_by_force(&a);
    all_ended("a full lane");
    double end = now() + 20;
    while (!b.handled && now() < end) progress();
    if (b.handled != 1) DIE("the other side was told %d times", b.handled);
    both_end();
}

/* B closes in good order what it still has messages from, and receives them afterwards. */
static void orderly(void)
{
    static ucs_status_ptr_t sends[MANY], receives[MANY];
    open_both();
    for (int i = 0; i < MANY; i++) {
        fill(sent[i].bytes, LEN, i);
        sends[i] = i % 2 ? ucp_tag_send_nbx(A.ep, sent[i].bytes, LEN, i, &plain) : ucp_tag_send_sync_nbx(A.ep, sent[i].bytes, 100, i, &plain);
    }
    let_it_arrive();
    MUST(finished(ucp_ep_close_nbx(B.ep, &plain)));
    B.ep = NULL;
    let_it_arrive();
    for (int i = 0; i < MANY; i++) receives[i] = ucp_tag_recv_nbx(B.w, got[i].bytes, LEN, i, ALL, &plain);
    for (int i = 0; i < MANY; i++) {
        MUST(finished(receives[i]));
        MUST(finished(sends[i]));
        HOLDS(same(got[i].bytes, i % 2 ? LEN : 100, i));
    }
    MUST(finished(ucp_ep_close_nbx(A.ep, &plain)));
    A.ep = NULL;
    HOLDS(!a.handled && !b.handled);
    both_end();
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 6, wrong = 0;
    static const char *const how[] = {"", "inf", "0"};
    features = UCP_FEATURE_TAG;
    say_maps();
    for (int round = 0; round < rounds; round++)
        for (int who = 0; who <= CLOSERS + 1; who++)
            for (int thresh = 0; thresh < 3; thresh++) {
                fflush(NULL);
                pid_t pid = fork();
                if (pid == 0) {
                    alarm(60);
                    if (*how[thresh]) setenv("UCX_RNDV_THRESH", how[thresh], 1);
                    if (who == CLOSERS) full_lane(SENDER, round);
                    else if (who > CLOSERS) orderly();
                    else rendezvous(who, round);
                    fflush(NULL);
                    _exit(0);
                }
                int st;
                HOLDS(waitpid(pid, &st, 0) == pid);
                const char *what = who > CLOSERS ? "in good order" : who == CLOSERS ? "a full lane" : closers[who];
                int right = WIFEXITED(st) && WEXITSTATUS(st) == 0;
                wrong += !right;
                printf("%s %s, round %d, UCX_RNDV_THRESH=%s", right ? "ok" : "WRONG", what, round, how[thresh]);
                if (WIFSIGNALED(st)) printf(": ended by signal %d", WTERMSIG(st));
                printf("\n");
            }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
