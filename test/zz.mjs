import {parseFleet,formatProblems} from '../lambdas/config/load-fleet.ts';
import {readFileSync} from 'node:fs';
const f=parseFleet(readFileSync(process.argv[2],'utf8'),'fleet.yaml');
console.log(f.ok?JSON.stringify(f.fleet,null,1):formatProblems(f.problems));
for (const t of ['','[]','a','version: 1\nclusters:\npolicies:\n','version: "1"','version: 1\n---\nb: 1','a: [','version: 1\nclusters: !foo []','version: 1\nclusters: *c','&a [*a]','['.repeat(1e6),'version: 1\npolicies: [{}, {}]','version: 1\npolicies: ['+'{},'.repeat(2)+']','version: 1\na: &a [x,x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]','\0']) {const s=Date.now();const p=parseFleet(t,'f');console.log('--',t.slice(0,30).replaceAll('\n','⏎'),Date.now()-s,'ms');console.log(p.ok?'ok':formatProblems(p.problems))}
