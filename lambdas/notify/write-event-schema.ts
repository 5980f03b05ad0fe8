import { writeFileSync } from 'node:fs';
import { eventJsonSchema } from '../contracts/event.ts';

// Run after a change of contracts/event.ts: node lambdas/notify/write-event-schema.ts
const file = new URL('../../schema/event.schema.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(eventJsonSchema(), null, 2)}\n`);
