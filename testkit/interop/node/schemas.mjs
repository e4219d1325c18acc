// Ajv as the judge of schemas: reads JSON lines {name, schema, valid, invalid}
// from stdin. Every schema must compile in strict mode as 2020-12, and as the
// TypeScript clients compile output schemas (v1 as draft-07, v2 as 2020-12, both
// with strict off); all of them must say the same about every value.
import assert from 'node:assert/strict';
import { createInterface } from 'node:readline';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

// New instances for each schema: what one leaves behind must not help the next.
// allowUnionTypes: ["string","null"] is how 2020-12 says nullable.
const judges = {
  '2020-12 strict': () => {
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
    ajv.addVocabulary(['x-mcp-header']);
    return ajv;
  },
  'client v1, draft-07': () => new Ajv({ strict: false, validateFormats: true, validateSchema: false, allErrors: true }),
  'client v2, 2020-12': () => new Ajv2020({ strict: false, validateFormats: true, validateSchema: false, allErrors: true }),
};

let failed = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const { name, schema, valid, invalid } = JSON.parse(line);
  for (const [judge, make] of Object.entries(judges)) {
    try {
      const ajv = make();
      addFormats.default(ajv);
      const check = ajv.compile(schema);
      for (const v of valid) assert.ok(check(v), `refuses ${JSON.stringify(v)}: ${ajv.errorsText(check.errors)}`);
      for (const v of invalid) assert.ok(!check(v), `accepts ${JSON.stringify(v)}`);
    } catch (err) {
      failed++;
      console.log(`not ok ${name} by ${judge}: ${err.message}\n  ${JSON.stringify(schema)}`);
      continue;
    }
    console.log(`ok ${name} by ${judge}`);
  }
}
process.exit(failed ? 1 : 0);
