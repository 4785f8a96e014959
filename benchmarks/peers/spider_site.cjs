// A site by spider-rs, which keeps nothing: node spider_site.cjs URL
const { Website } = require("@spider-rs/spider-rs");

async function main() {
  const site = new Website(process.argv[2]).withRespectRobotsTxt(false).withDelay(0).build();
  let pages = 0;
  await site.crawl(() => {
    pages += 1;
  });
  console.log(pages);
  process.exit(0);
}

main();
