/* Stand-in until the plan is there: who builds plan.c deletes this file and its line in meson.build. */
#include <errno.h>
#include "base/error.h"
#include "cel/plan.h"
#include "cel/code.h"
#include "cel/machine.h"
struct CelPlan { const CelHost *host; size_t n; CelCode **codes; CelTime *times; CelLane *lanes; };
struct CelKept { size_t n; CelColumn *columns; };
struct CelSession { const CelPlan *plan; CelSessionOptions o; CelValue *vars; const uint32_t *rows; size_t n; CelColumn *columns; Arena *arena; };
int cel_plan_new(CelGraph *graph, const uint32_t *roots, size_t n_roots, const CelHost *host, Arena *arena, CelPlan **ret) {
    CelPlan *p = ARENA_NEW(arena, CelPlan);
    CelEmitOptions e = {0};
    p->host=host; p->n=n_roots; p->codes=ARENA_ARRAY(arena,CelCode*,n_roots); p->times=ARENA_ARRAY(arena,CelTime,n_roots); p->lanes=ARENA_ARRAY(arena,CelLane,n_roots);
    for (size_t i=0;i<n_roots;i++) { const CelGraphNode *g=cel_graph_node(graph,roots[i]); int r=cel_emit(graph,roots[i],&e,arena,&p->codes[i]); if(r<0) return r;
      p->lanes[i]=cel_lane_of(g->type);
      p->times[i]= !(g->groups&host->row_groups)?CEL_TIME_ONCE: (g->groups&~host->row_groups)==0?CEL_TIME_KEPT:CEL_TIME_BATCH; }
    *ret=p; return 0; }
CelTime cel_plan_time(const CelPlan *p, size_t r) { return p->times[r]; }
bool cel_plan_falls_back(const CelPlan *p, size_t r, uint32_t *ret) { (void)p;(void)r;(void)ret; return false; }
void cel_plan_print(const CelPlan *p, Buf *o) {(void)p;(void)o;}
static CelColumn col(CelLane l, size_t n, Arena *a) { CelColumn c={.lane=l,.states=ARENA_ARRAY(a,uint8_t,n)}; c.ints=ARENA_ARRAY(a,int64_t,n); return c; }
static void put(CelColumn *c, size_t i, CelValue v) { if(v.kind==CEL_ERROR||v.kind==CEL_ABSENT){c->states[i]=CEL_STATE_ERROR;return;} if(c->lane==CEL_LANE_BOOL)c->states[i]=v.boolean; else if(c->lane==CEL_LANE_INT)c->ints[i]=v.i; else c->doubles[i]=v.d; }
int cel_kept_new(const CelPlan *p, const CelTable *t, const uint32_t *rows, size_t n, CelRun *run, Arena *keep, const CelKept **ret) {
    CelKept *k=ARENA_NEW(keep,CelKept); k->n=n; k->columns=ARENA_ARRAY(keep,CelColumn,p->n); CelValue vars[512]={0};
    for(size_t i=0;i<p->n;i++) { if(p->times[i]!=CEL_TIME_KEPT) continue; k->columns[i]=col(p->lanes[i],n,keep);
      for(size_t j=0;j<n;j++){ run->fuel=1000000; run->limit=NULL; vars[p->host->row_slot]=t->row(t,rows[j],run); put(&k->columns[i],j,cel_run(p->codes[i],run,vars)); } }
    *ret=k; return 0; }
CelColumn cel_kept_root(const CelPlan *p, const CelKept *k, size_t r){(void)p; return k->columns[r];}
int cel_whole_new(const CelPlan *p, const CelTable *t, const CelKept *const *b, size_t n, Arena *a, const CelWhole **ret){(void)p;(void)t;(void)b;(void)n;(void)a;*ret=NULL;return 0;}
int cel_session_new(const CelPlan *p, const CelSessionOptions *o, Arena *a, CelSession **ret){ CelSession *s=ARENA_NEW(a,CelSession); s->plan=p;s->o=*o;s->arena=a;s->columns=ARENA_ARRAY(a,CelColumn,p->n); s->vars=ARENA_ARRAY(a,CelValue,512); *ret=s; return 0;}
void cel_session_rows(CelSession *s, const uint32_t *r, size_t n){s->rows=r;s->n=n;}
int cel_session_root(CelSession *s, size_t r, const CelColumn **ret){ CelColumn *c=&s->columns[r]; *c=col(s->plan->lanes[r],s->n,s->arena);
  for(size_t i=0;i<s->n;i++){ if(i%64==0&&s->o.is_over&&s->o.is_over(s->o.context)) return CEL_SESSION_OVER; CelValue *vv=(CelValue*)(uintptr_t)s->o.variables; s->o.run->fuel=s->o.fuel; s->o.run->limit=NULL; vv[s->plan->host->row_slot]=s->o.table->row(s->o.table,s->rows[i],s->o.run); put(c,i,cel_run(s->plan->codes[r],s->o.run,vv)); }
  *ret=c; return 0;}
int cel_session_once(CelSession *s, size_t r, CelValue *ret){ s->o.run->fuel=s->o.fuel; s->o.run->limit=NULL; *ret=cel_run(s->plan->codes[r],s->o.run,s->o.variables); return 0;}
